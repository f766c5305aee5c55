#include "predict/retrain.h"
#include <gmock/gmock.h>
