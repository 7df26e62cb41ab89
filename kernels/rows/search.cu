// search.cu -- search_pairs with a matrix of correlations for each row (common/pairs.cuh).
#define ROW_MATRICES
#include "pruning/search.cu"
