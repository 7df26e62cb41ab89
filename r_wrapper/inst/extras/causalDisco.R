# The engines of pycupc as a method of causalDisco (1.1 or later, with R 4.3 or later):
#
#   source(system.file("extras", "causalDisco.R", package = "pycupc"))
#   found <- causalDisco::disco(data, pycupc_method("pc", alpha = 0.01))
#
# Further arguments are those of cu_pc(), cu_fci() or cu_rfci(). Knowledge is used as by causalDisco's engine "pcalg":
# forbidden and required pairs without a direction; causalDisco refuses tiers and single directions there.
pycupc_method <- function(algorithm = c("pc", "fci", "rfci"), ...) {
  algorithm <- match.arg(algorithm)
  builder <- function(knowledge = NULL) {
    run <- function(data) {
      known <- if (!is.null(knowledge)) causalDisco::as_pcalg_constraints(knowledge, names(data))
      search <- list(pc = pycupc::cu_pc, fci = pycupc::cu_fci, rfci = pycupc::cu_rfci)[[algorithm]]
      fit <- search(data, ..., fixedGaps = known$fixed_gaps, fixedEdges = known$fixed_edges)
      graph <- if (algorithm == "pc") {
        caugi::as_caugi(fit@graph, class = "PDAG", collapse = TRUE)
      } else {
        caugi::as_caugi(fit@amat, class = "PAG")
      }
      structure(list(caugi = graph, knowledge = causalDisco::knowledge()), class = "Disco")
    }
    list(run = run, set_knowledge = function(new) knowledge <<- new)
  }
  causalDisco::new_disco_method(builder, algorithm, "pycupc", if (algorithm == "pc") "PDAG" else "PAG")
}
