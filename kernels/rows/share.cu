// share.cu -- several devices that test a level together, with a matrix of correlations for each row
//   (common/pairs.cuh).
#define ROW_MATRICES
#include "graph/share.cu"
