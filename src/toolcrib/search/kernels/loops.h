/* What the loops share: arrays taken from Python, and a way to have each loop compiled for newer processors, too. */

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

#define FETCH(address) __builtin_prefetch(address) /* ask for memory early: what a search needs is seldom in the cache */

/* The arrays one call holds; all are given back at once. */
typedef struct {
    Py_buffer held[16];
    int count;
} Arrays;

/* The items of an array that lies in one piece and has items of `size` bytes; NULL, with an error, of any other, and after
   an error: a loop takes all it needs and then asks once whether it has it. */
void *take(Arrays *arrays, PyObject *array, Py_ssize_t size, int writable, Py_ssize_t *count);
void give_back(Arrays *arrays);

/* Raises what Python raises for a wrong argument; gives NULL. */
void *refuse(const char *why);

/* For qsort: the higher score stands first, of equal ones the smaller number. */
typedef struct {
    double score;
    int64_t number;
} Scored;
int falling(const void *one, const void *other);

/* The features that have a row, in order, and where those begin that have the same first half. */
#define MOST_FEATURES 181 /* of one word */
typedef struct {
    const uint32_t *features, *starts;
    Py_ssize_t rows;
} Known;

/* 0: an error. */
int take_known(Arrays *arrays, PyObject *features, PyObject *starts, Known *known);

/* The features of a word; `plain` is None for a run. Gives how many; less than nothing: an error. */
int features_of(PyObject *word, PyObject *plain, uint32_t *features);

/* The row of a feature, or -1. */
Py_ssize_t row_of(const Known *known, uint32_t wanted);

/* Word by word: the words of a request, eight beside each other, and what each counts. */
#define DIMENSIONS 64
#define LANES 8
#define MOST_WORDS 32
typedef float Lanes __attribute__((vector_size(LANES * sizeof(float)))); /* one step for eight words */
typedef struct {
    Lanes directions[MOST_WORDS / LANES][DIMENSIONS];
    float weights[MOST_WORDS];
    int count, blocks;
} Query;

/* And the words of all tools, of which each has some rows. */
typedef struct {
    const int32_t *words;
    const float *directions, *shares;
    Py_ssize_t rows, meanings;
} ToolWords;

/* Reads the vectors of a request's words; 0: an error. */
int read_query(Query *query, PyObject *vectors);

/* How much of the request a tool speaks of, and how much of the tool the request asks for; 0 where rows are wrong. */
int compare(const Query *query, const ToolWords *tool, int64_t row, int64_t end, double *found, double *spoken);

/* Tables that never change, made when Python imports the loops. */
void prepare_features(void);
void prepare_vectors(void);

/* What Python calls: toolcrib.search.kernels says what each takes and gives. */
#define LOOP(name) PyObject *name(PyObject *module, PyObject *const *args, Py_ssize_t count)
LOOP(add_features);
LOOP(known_share);
LOOP(known_positions);
LOOP(deletion_matches);
LOOP(add_words);
LOOP(matched_words);
LOOP(scores);
LOOP(nearest);
LOOP(collect_candidates);
LOOP(network);
LOOP(probabilities);
LOOP(ranked);

#endif
