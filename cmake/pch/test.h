// Precompiled for the unit tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common.h"
