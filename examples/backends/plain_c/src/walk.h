/* Walking over the elements of tensors of one shape and any strides, line by line.
 *
 *     walk lines;
 *     for (bool more = walk_start(&lines, rank, shape, along, n, operands); more; more = walk_next(&lines))
 *         ... lines.length elements, from lines.at[k] on, each lines.step[k] bytes behind the one before ...
 *
 *   - Lines go along one dimension, and follow each other in row-major order of the others.
 *     Along the last one, rank - 1, all elements come in row-major order; along -1 a line is one element,
 *     and `index` is where it is.
 *   - A shape with a dimension of size 0 has no lines; one without dimensions has one, of one element.
 */
#ifndef PLAIN_C_WALK_H
#define PLAIN_C_WALK_H

#include "elements.h"

#define MAX_OPERANDS 4

/* What is walked over: the first element, and strides in elements of so many bytes. */
typedef struct {
    char* data;
    const int64_t* strides;
    int64_t bytes;
} operand;

typedef struct {
    int rank, along, operands;
    const int64_t* shape;
    operand of[MAX_OPERANDS];
    int64_t index[TNR_MAX_RANK];
    int64_t length, all;
    char* at[MAX_OPERANDS];
    int64_t step[MAX_OPERANDS];
} walk;

/* What computes a line; returns a status. */
typedef int32_t (*line_function)(int64_t length, char* const at[], const int64_t step[]);

extern const int64_t no_strides[TNR_MAX_RANK]; /* the same element everywhere */

operand operand_of(const DLTensor* tensor);
int64_t count_of(int rank, const int64_t* shape);
char* element_at(const DLTensor* tensor, const int64_t* index);

bool walk_start(walk* lines, int rank, const int64_t* shape, int along, int operands, const operand* of);
bool walk_next(walk* lines);
/* Over inputs and output of a call in which all have one shape. */
bool walk_call(walk* lines, const tnr_call* call);

#endif
