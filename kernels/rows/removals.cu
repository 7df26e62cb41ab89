// removals.cu -- settle and finish with a matrix of correlations for each row (common/pairs.cuh).
#define ROW_MATRICES
#include "graph/removals.cu"
