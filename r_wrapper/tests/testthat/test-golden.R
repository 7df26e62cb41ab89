# Every recorded case, slot by slot, against pcalg's recorded answer. The plain lists are tested without pcalg.

test_that("the plain answer of every recorded case is pcalg's", {
  skip_if_no_python()
  for (case in golden_cases()) {
    plain <- suppressMessages(do.call(cu_plain, c("skeleton", case_arguments(case))))
    expect_identical(graph_cells(plain) == 1L, case$skeleton, label = paste(case$name, "skeleton"))
    expect_identical(plain$max.ord, case$max_ord, label = paste(case$name, "max.ord"))
    expect_identical(plain$n.edgetests, case$n_edgetests, label = paste(case$name, "n.edgetests"))
    expect_equal(plain$pMax, case$pMax, tolerance = 1e-6, label = paste(case$name, "pMax"))
    expect_identical(expand_sepset(plain), case_sepset(case), label = paste(case$name, "sepset"))
  }
})

test_that("the CPDAG of every recorded variant is pcalg's", {
  skip_if_no_python()
  for (case in golden_cases()) {
    for (variant in names(variants)) {
      recorded <- case[[paste0("cpdag_", variant)]]
      if (is.null(recorded)) next
      plain <- suppressMessages(do.call(cu_plain, c("pc", case_arguments(case), variants[[variant]])))
      if (plain$status == "random") next # recorded from one draw of R's generator; see test-live.R
      expect_identical(graph_cells(plain), recorded, label = paste(case$name, variant))
    }
  }
})
