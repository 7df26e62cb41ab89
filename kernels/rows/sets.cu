// sets.cu -- schur_sets with a matrix of correlations for each row (common/pairs.cuh).
#define ROW_MATRICES
#include "schur/sets.cu"
