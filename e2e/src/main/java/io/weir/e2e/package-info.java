// SPDX-License-Identifier: Apache-2.0
/** What puts Weir to the test: commands, and black-box tests over real processes. */
@NullMarked
package io.weir.e2e;

import org.jspecify.annotations.NullMarked;
