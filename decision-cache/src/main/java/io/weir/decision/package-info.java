// SPDX-License-Identifier: Apache-2.0
/**
 * The port behind which a cache decides; what is decided, and by which arithmetic, is in limits.
 */
@NullMarked
package io.weir.decision;

import org.jspecify.annotations.NullMarked;
