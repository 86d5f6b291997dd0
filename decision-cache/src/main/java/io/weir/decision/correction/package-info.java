// SPDX-License-Identifier: Apache-2.0
/** Repair of the decision cache: corrections of buckets and the restoration of lost state. */
@NullMarked
package io.weir.decision.correction;

import org.jspecify.annotations.NullMarked;
