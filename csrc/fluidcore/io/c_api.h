#pragma once

/* A saved model from C, and from any language that calls C. Functions that may fail return 0 where
 * they succeed, and else 1 and, in `error`, a text of at most `error_size` bytes with its end; it
 * may be NULL. */

/* NOLINTBEGIN(readability-identifier-naming): the names of C */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FLUIDCORE_MAX_RANK = 16 };

/* Elements that are adjacent, the last dimension first. */
typedef struct fluidcore_tensor {
  void* data;
  int64_t
      dtype; /* 0 bool, 1 int16, 2 int32, 3 int64, 4 float16, 5 float32, 6 float64, 22 bfloat16 */
  int64_t rank;
  int64_t shape[FLUIDCORE_MAX_RANK];
} fluidcore_tensor;

typedef struct fluidcore_predictor fluidcore_predictor;

/* A folder of fluid.io.save_inference_model. */
int fluidcore_predictor_open(const char* folder,
                             int threads,
                             fluidcore_predictor** predictor,
                             char* error,
                             size_t error_size);
/* Another one with the same weights, for another thread. */
int fluidcore_predictor_clone(const fluidcore_predictor* predictor,
                              fluidcore_predictor** clone,
                              char* error,
                              size_t error_size);
void fluidcore_predictor_close(fluidcore_predictor* predictor); /* NULL: nothing happens */

/* The variables that are fed and fetched, and their names, in the order of run; NULL for none. */
size_t fluidcore_predictor_feeds(const fluidcore_predictor* predictor);
size_t fluidcore_predictor_fetches(const fluidcore_predictor* predictor);
const char* fluidcore_predictor_feed(const fluidcore_predictor* predictor, size_t index);
const char* fluidcore_predictor_fetch(const fluidcore_predictor* predictor, size_t index);

/* Reads a tensor for each feed and sets one for each fetch, whose memory is the predictor's until
 * its next run. One thread at a time may run one predictor. */
int fluidcore_predictor_run(fluidcore_predictor* predictor,
                            const fluidcore_tensor* inputs,
                            size_t input_count,
                            fluidcore_tensor* outputs,
                            size_t output_count,
                            char* error,
                            size_t error_size);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */
