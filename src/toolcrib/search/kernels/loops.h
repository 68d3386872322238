/* Shared by the loops: access to arrays of Python, and compilation of each loop for newer processors, too. */

#ifndef TOOLCRIB_LOOPS_H
#define TOOLCRIB_LOOPS_H

#define Py_LIMITED_API 0x030B0000 /* one build serves every Python from 3.11 on */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__)
#define WIDE __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define WIDE
#endif

#define FETCH(address) __builtin_prefetch(address) /* what a search needs is seldom in the cache */

/* The arrays that one call holds; all are released together. */
typedef struct {
    Py_buffer held[16];
    int count;
} Arrays;

/* The items of a contiguous array with items of `size` bytes. Returns NULL and sets an error for any other array, and
   NULL after an earlier error: a loop takes all its arrays, then checks once. */
void *take(Arrays *arrays, PyObject *array, Py_ssize_t size, int writable, Py_ssize_t *count);
void give_back(Arrays *arrays);

/* Sets the Python error for a wrong argument; returns NULL. */
void *refuse(const char *message);

/* For qsort: by descending score, ties by ascending place. */
typedef struct {
    double score;
    int64_t place, number;
} Scored;
int falling(const void *one, const void *other);

/* The place of each number among equals; NULL where it is the number itself. Sets an error if there are too few. */
const int64_t *take_order(Arrays *arrays, PyObject *order, Py_ssize_t least);

/* The features that have a row, sorted, and where those with the same upper 16 bits start. */
#define MOST_FEATURES 181 /* of one word */
typedef struct {
    const uint32_t *features, *starts;
    Py_ssize_t rows;
} Known;

/* Returns 0 on error. */
int take_known(Arrays *arrays, PyObject *features, PyObject *starts, Known *known);

/* The features of a word; `plain` is None for a run of an unspaced script. Returns their number, negative on error. */
int features_of(PyObject *word, PyObject *plain, uint32_t *features);

/* The row of a feature, or -1. */
Py_ssize_t row_of(const Known *known, uint32_t wanted);

/* Late interaction: the words of a query, eight side by side, and the weight of each. */
#define DIMENSIONS 64
#define LANES 8
#define MOST_WORDS 32
typedef float Lanes __attribute__((vector_size(LANES * sizeof(float)))); /* one step for eight words */
typedef struct {
    Lanes directions[MOST_WORDS / LANES][DIMENSIONS];
    float weights[MOST_WORDS];
    int count, blocks;
} Query;

/* The words of all tools; each tool has a block of rows. */
typedef struct {
    const int32_t *words;
    const float *directions, *shares;
    Py_ssize_t rows, meanings;
} ToolWords;

/* Reads the vectors of a query's words; returns 0 on error. */
int read_query(Query *query, PyObject *vectors);

/* The share of the query that a tool covers, and of the tool that the query covers; returns 0 if the rows are wrong. */
int compare(const Query *query, const ToolWords *tool, int64_t row, int64_t end, double *of_query, double *of_tool);

/* Constant tables, computed when Python imports the module. */
void prepare_features(void);
void prepare_vectors(void);

/* Called from Python: `Kernels` in toolcrib.search.kernels documents arguments and results. */
#define LOOP(name) PyObject *name(PyObject *module, PyObject *const *args, Py_ssize_t count)
LOOP(add_features);
LOOP(known_share);
LOOP(known_positions);
LOOP(deletion_matches);
LOOP(add_words);
LOOP(highest_by_words);
LOOP(matched_words);
LOOP(scores);
LOOP(nearest);
LOOP(collect_candidates);
LOOP(network);
LOOP(probabilities);
LOOP(ranked);

#endif
