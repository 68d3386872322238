/* Tools compared with a query word by word: `coverage` in plain.py. */

#include "loops.h"

#include <math.h>
#include <string.h>

/* Fused multiply-add is as exact, and faster; all other results must equal those of Python. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=fast")
#endif

#define ROWS 4 /* words of a tool compared at a time: within one word, each step waits for the one before */
#define CACHE_LINE (64 / sizeof(float))
#define NOTHING 1e-6f

static float length_of(const float *vector, Py_ssize_t dimensions) {
    float squares = 0;
    for (Py_ssize_t at = 0; at < dimensions; at++) squares += vector[at] * vector[at];
    return sqrtf(squares) + NOTHING;
}

int read_query(Query *query, PyObject *vectors) {
    const Py_ssize_t count = PyList_Size(vectors);
    float whole = 0;
    if (count > MOST_WORDS) refuse("a request has too many words");
    if (count < 0 || count > MOST_WORDS) return 0;
    query->count = (int)count;
    query->blocks = (int)(count + LANES - 1) / LANES;
    memset(query->directions, 0, sizeof *query->directions * query->blocks);
    for (int word = 0; word < count; word++) {
        Arrays arrays = {.count = 0};
        Py_ssize_t dimensions;
        const float *vector = take(&arrays, PyList_GetItem(vectors, word), 4, 0, &dimensions);
        if (vector && dimensions < DIMENSIONS) vector = refuse("a vector is too short");
        if (vector) {
            const float length = length_of(vector, DIMENSIONS);
            whole += query->weights[word] = length_of(vector, dimensions);
            for (int at = 0; at < DIMENSIONS; at++)
                query->directions[word / LANES][at][word % LANES] = vector[at] / length;
        }
        give_back(&arrays);
        if (!vector) return 0;
    }
    for (int word = 0; word < count; word++) query->weights[word] /= whole;
    return 1;
}

static void fetch(const ToolWords *tool, int64_t row, int64_t end) {
    for (; row < end; row++)
        for (size_t at = 0; at < DIMENSIONS; at += CACHE_LINE)
            FETCH(tool->directions + (Py_ssize_t)tool->words[row] * DIMENSIONS + at);
}

WIDE int compare(const Query *query, const ToolWords *tool, int64_t row, int64_t end, double *of_query, double *of_tool) {
    union {
        Lanes lanes[MOST_WORDS / LANES];
        float words[MOST_WORDS];
    } near[ROWS];
    float best[MOST_WORDS];
    const float *directions[ROWS];
    *of_query = *of_tool = 0;
    for (int word = 0; word < query->count; word++) best[word] = -2;
    for (; row < end; row += ROWS) {
        const int rows = end - row < ROWS ? (int)(end - row) : ROWS;
        for (int at = 0; at < ROWS; at++) {
            const int32_t word = tool->words[row + (at < rows ? at : 0)];
            if (word < 0 || word >= tool->meanings) return 0;
            directions[at] = tool->directions + (Py_ssize_t)word * DIMENSIONS;
        }
        fetch(tool, row + ROWS, row + 2 * ROWS < tool->rows ? row + 2 * ROWS : tool->rows);
        for (int block = 0; block < query->blocks; block++) {
            Lanes sums[ROWS] = {{0}};
            for (int dimension = 0; dimension < DIMENSIONS; dimension++)
                for (int at = 0; at < ROWS; at++)
                    sums[at] += directions[at][dimension] * query->directions[block][dimension];
            for (int at = 0; at < ROWS; at++) near[at].lanes[block] = sums[at];
        }
        for (int at = 0; at < rows; at++) {
            float closest = -2;
            for (int word = 0; word < query->count; word++) {
                const float score = near[at].words[word];
                best[word] = score > best[word] ? score : best[word];
                closest = score > closest ? score : closest;
            }
            *of_tool += (double)closest * tool->shares[row + at];
        }
    }
    for (int word = 0; word < query->count; word++) *of_query += (double)best[word] * query->weights[word];
    return 1;
}
