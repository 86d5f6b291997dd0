// SPDX-License-Identifier: Apache-2.0
/** Black-box tests: real processes, met by their command line, their ports and their topics. */
@NullMarked
package io.weir.e2e;

import org.jspecify.annotations.NullMarked;
