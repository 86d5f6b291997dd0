// SPDX-License-Identifier: Apache-2.0
/** How the decision cache is healed: corrections of buckets, and the life of the cache's state. */
@NullMarked
package io.weir.decision.correction;

import org.jspecify.annotations.NullMarked;
