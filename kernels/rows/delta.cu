// delta.cu -- find_delta with a matrix of correlations for each row (common/pairs.cuh).
#define ROW_MATRICES
#include "pruning/delta.cu"
