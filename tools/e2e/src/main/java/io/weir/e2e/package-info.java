// SPDX-License-Identifier: Apache-2.0
/** The tests of Weir as a whole: commands, and black-box tests over real processes. */
@NullMarked
package io.weir.e2e;

import org.jspecify.annotations.NullMarked;
