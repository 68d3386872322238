/* The candidates of both arms: `collect_candidates` in plain.py. */

#include "loops.h"

#include <string.h>

#define LEXICAL_FEATURES 10
#define FEATURES 21
#define FIRST 5 /* of each arm, to see whether they agree */

/* The candidates: first those of the lexical arm, in its order, then the other near ones. All columns start as zeros. */
typedef struct {
    int64_t *numbers;
    double *lexical, *dense, *query, *tool;
    Py_ssize_t named, count;
} Candidates;

/* The scores of the dense arm. */
typedef struct {
    const float *scores;
    PyObject *nearest;
    Py_ssize_t tools, near;
    double mean, spread, gone;
} Near;

/* The input of reranking: the words of the query, and the rows of words of each tool id. */
typedef struct {
    Query query;
    ToolWords tool;
    const int64_t *starts, *ends;
    Py_ssize_t numbers;
} Reading;

static void add_named(Candidates *found, PyObject *numbers, PyObject *scores) {
    for (; found->count < found->named; found->count++) {
        found->numbers[found->count] = PyLong_AsSsize_t(PyTuple_GetItem(numbers, found->count));
        found->lexical[found->count] = PyFloat_AsDouble(PyTuple_GetItem(scores, found->count));
    }
    for (Py_ssize_t place = found->named - 1; place >= 0; place--) found->lexical[place] /= found->lexical[0];
}

/* Marks those of the first `depth` in the column `query`. Returns 0 for an id that has no score. */
static int add_nearest(Candidates *found, const Near *near, Py_ssize_t depth) {
    for (Py_ssize_t rank = 0; rank < near->near; rank++) {
        const Py_ssize_t number = PyLong_AsSsize_t(PyTuple_GetItem(near->nearest, rank));
        Py_ssize_t place = 0;
        if (number < 0 || number >= near->tools) return 0;
        while (place < found->named && found->numbers[place] != number) place++;
        if (place == found->named) {
            place = found->count++;
            found->numbers[place] = number;
        }
        found->query[place] = rank < depth;
    }
    return 1;
}

/* Returns 0 for an id that no tool has. */
static int add_z_scores(const Candidates *found, const Near *near) {
    for (Py_ssize_t place = 0; place < found->count; place++) {
        const int64_t number = found->numbers[place];
        if (number < 0 || (place >= found->named && number >= near->tools)) return 0;
        if (near->near && number < near->tools && near->scores[number] > near->gone)
            found->dense[place] = (near->scores[number] - near->mean) / near->spread;
    }
    return 1;
}

/* Reranks the first `depth` of each arm, or all if there are few; the others, which hardly win, count as having no word
   of the query. Returns 0 for rows that do not exist. */
static int rerank(const Candidates *found, const Reading *reading, Py_ssize_t depth) {
    const int all = 2 * depth >= found->count;
    for (Py_ssize_t place = 0; place < found->count; place++) {
        const int chosen = all || found->query[place] > 0 || (place < depth && place < found->named);
        found->query[place] = 0;
        if (!chosen || !reading->query.count) continue;
        /* A tool whose words are not added yet has the first row, which belongs to no tool. */
        const int64_t number = found->numbers[place];
        const int64_t row = number < reading->numbers ? reading->starts[number] : 0;
        const int64_t end = number < reading->numbers ? reading->ends[number] : 1;
        if (row < 0 || row >= end || end > reading->tool.rows) return 0;
        if (!compare(&reading->query, &reading->tool, row, end, &found->query[place], &found->tool[place])) return 0;
    }
    return 1;
}

/* In the order of FEATURES in fusion.py. */
static void write_features(const Candidates *found, const Near *near, const double *lexical_features,
                           double *features) {
    double query_coverage = 0, tool_coverage = 0, best[FIRST] = {0}, both = 0, same = 0;
    Py_ssize_t highest = 0;
    for (Py_ssize_t at = 0; at < found->count; at++) {
        highest = found->dense[at] > found->dense[highest] ? at : highest;
        query_coverage = found->query[at] > query_coverage ? found->query[at] : query_coverage;
        tool_coverage = found->tool[at] > tool_coverage ? found->tool[at] : tool_coverage;
    }
    for (Py_ssize_t rank = 0; rank < near->near && rank < FIRST; rank++) {
        const Py_ssize_t number = PyLong_AsSsize_t(PyTuple_GetItem(near->nearest, rank));
        best[rank] = near->scores[number];
        for (Py_ssize_t place = 0; place < found->named && place < FIRST; place++)
            if (found->numbers[place] == number) {
                both++;
                same += !rank && !place;
            }
    }
    const double top = found->count && found->dense[highest] > 0 ? found->dense[highest] : 0;
    const double first = found->named ? found->dense[0] : 0;
    memcpy(features, lexical_features, 4 * sizeof *lexical_features);
    features[4] = best[0];
    features[5] = top / 4;
    features[6] = (best[0] - best[1]) / near->spread;
    features[7] = (best[0] - best[FIRST - 1]) / near->spread;
    features[8] = both / FIRST;
    features[9] = same;
    memcpy(features + 10, lexical_features + 4, 6 * sizeof *lexical_features);
    features[16] = found->count ? found->lexical[highest] : 0;
    features[17] = first / 4;
    features[18] = (top - first) / 4;
    features[19] = query_coverage;
    features[20] = tool_coverage;
}

/* collect_candidates(named, their_scores, lexical_features, scores, nearest, mean, spread, gone, depth, vectors,
   starts, ends, words, directions, shares, numbers, columns, features) -> how many candidates there are */
PyObject *collect_candidates(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    Arrays arrays = {.count = 0};
    Candidates found = {.count = 0};
    Near near;
    Reading reading;
    Py_ssize_t ending, meanings, sharing, room, columns, signs;
    double lexical_features[LEXICAL_FEATURES];
    if (count != 18) return refuse("eighteen arguments were expected");
    if (!read_query(&reading.query, args[9])) return NULL;
    found.named = PyTuple_Size(args[0]);
    near.nearest = args[4];
    near.near = PyTuple_Size(args[4]);
    near.mean = PyFloat_AsDouble(args[5]);
    near.spread = PyFloat_AsDouble(args[6]);
    near.gone = PyFloat_AsDouble(args[7]);
    const Py_ssize_t depth = PyLong_AsSsize_t(args[8]);
    near.scores = take(&arrays, args[3], 4, 0, &near.tools);
    reading.starts = take(&arrays, args[10], 8, 0, &reading.numbers);
    reading.ends = take(&arrays, args[11], 8, 0, &ending);
    reading.tool.words = take(&arrays, args[12], 4, 0, &reading.tool.rows);
    reading.tool.directions = take(&arrays, args[13], 4, 0, &meanings);
    reading.tool.shares = take(&arrays, args[14], 4, 0, &sharing);
    found.numbers = take(&arrays, args[15], 8, 1, &room);
    found.lexical = take(&arrays, args[16], 8, 1, &columns);
    double *features = take(&arrays, args[17], 8, 1, &signs);
    for (int at = 0; at < LEXICAL_FEATURES && !PyErr_Occurred(); at++)
        lexical_features[at] = PyFloat_AsDouble(PyTuple_GetItem(args[2], at));
    int fits = !PyErr_Occurred() && PyTuple_Size(args[1]) == found.named && ending >= reading.numbers &&
               sharing >= reading.tool.rows && room >= found.named + near.near && columns == 4 * room &&
               signs == FEATURES;
    if (fits) {
        reading.tool.meanings = meanings / DIMENSIONS;
        found.dense = found.lexical + room;
        found.query = found.dense + room;
        found.tool = found.query + room;
        add_named(&found, args[0], args[1]);
        fits = add_nearest(&found, &near, depth) && add_z_scores(&found, &near) &&
               rerank(&found, &reading, depth) && !PyErr_Occurred();
    }
    if (fits) write_features(&found, &near, lexical_features, features);
    give_back(&arrays);
    if (!fits && !PyErr_Occurred()) refuse("the arms do not fit together");
    return PyErr_Occurred() ? NULL : PyLong_FromSsize_t(found.count);
}
