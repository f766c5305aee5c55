#include "study/prediction/retraining.h"

#include <gmock/gmock.h>
