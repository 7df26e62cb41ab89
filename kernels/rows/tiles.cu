// tiles.cu -- schur_tiles with a matrix of correlations for each row (common/pairs.cuh).
#define ROW_MATRICES
#include "schur/tiles.cu"
