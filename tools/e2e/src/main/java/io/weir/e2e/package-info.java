// SPDX-License-Identifier: Apache-2.0
/** Commands and helpers for black-box tests of real Weir processes. */
@NullMarked
package io.weir.e2e;

import org.jspecify.annotations.NullMarked;
