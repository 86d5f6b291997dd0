// SPDX-License-Identifier: Apache-2.0
/** The commands that put Weir to the test. May depend on all modules. */
@NullMarked
package io.weir.e2e;

import org.jspecify.annotations.NullMarked;
