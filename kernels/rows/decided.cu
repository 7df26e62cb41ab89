// decided.cu -- settle_shared, count_left and enter_ranks with a matrix of correlations for each row (common/pairs.cuh).
#define ROW_MATRICES
#include "pruning/decided.cu"
