// SPDX-License-Identifier: Apache-2.0
/** Commands that test Weir as a whole, and parts of black-box tests of real processes. */
@NullMarked
package io.weir.e2e;

import org.jspecify.annotations.NullMarked;
