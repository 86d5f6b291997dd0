// SPDX-License-Identifier: Apache-2.0
/**
 * What a process knows of buckets that cannot hold a cost yet, so that it need not ask for them.
 */
@NullMarked
package io.weir.decision.deny;

import org.jspecify.annotations.NullMarked;
