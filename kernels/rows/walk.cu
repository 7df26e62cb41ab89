// walk.cu -- the walk with a matrix of correlations for each row (common/pairs.cuh).
#define ROW_MATRICES
#include "pruning/walk.cu"
