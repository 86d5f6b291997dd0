// SPDX-License-Identifier: Apache-2.0
/** Denials that a process remembers and repeats without a request to the decision cache. */
@NullMarked
package io.weir.decision.deny;

import org.jspecify.annotations.NullMarked;
