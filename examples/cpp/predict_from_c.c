/* Runs a saved model of one input and one result, on ones, from C; built like main.cc:
 *
 *   build/predict_from_c MODEL 3 8 8      the input's shape
 */

#include <stdio.h>
#include <stdlib.h>

#include "fluidcore/io/c_api.h"

int main(int count, char** arguments) {
  char error[1000];
  fluidcore_predictor* predictor = NULL;
  fluidcore_tensor input = {NULL, 5, 0, {0}};
  fluidcore_tensor output;
  int64_t size = 1;
  int failed;
  int64_t i;
  if (count < 3 || count > 2 + FLUIDCORE_MAX_RANK) {
    fprintf(stderr, "usage: predict_from_c MODEL 3 8 8\n");
    return 2;
  }
  for (i = 2; i < count; ++i) {
    input.shape[input.rank] = atoll(arguments[i]);
    size *= input.shape[input.rank++];
  }
  input.data = malloc((size_t)size * sizeof(float));
  if (input.data == NULL) return 1;
  for (i = 0; i < size; ++i) ((float*)input.data)[i] = 1.0F;

  failed = fluidcore_predictor_open(arguments[1], 1, &predictor, error, sizeof error) ||
           fluidcore_predictor_run(predictor, &input, 1, &output, 1, error, sizeof error);
  if (failed) {
    fprintf(stderr, "%s\n", error);
  } else {
    for (size = 1, i = 0; i < output.rank; ++i) size *= output.shape[i];
    for (i = 0; i < size; ++i) printf("%.9g\n", ((float*)output.data)[i]);
  }
  fluidcore_predictor_close(predictor);
  free(input.data);
  return failed;
}
