// Sphinx's scores of search results, by the purpose of a page: what to do comes before definitions and records.
const FACTORS = [
  [/^(howto\/.*|start)$/, 4],
  [/^(choose|usage|glossary)$/, 2],
  [/^notebooks\//, 2],
  [/^(generated\/(benchmarks|releases|contributing|kernels)|architecture|developers.*|paper)$/, 0.2],
];

var Scorer = {
  score: ([page, , , , score]) => score * (FACTORS.find(([pages]) => pages.test(page)) || [null, 1])[1],
  // of names of functions, by where the words stand
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  // of the title of a page or a part of it, and of the text
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
