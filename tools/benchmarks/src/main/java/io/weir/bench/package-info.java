// SPDX-License-Identifier: Apache-2.0
/** What Weir's parts can do, side by side with a rival or a floor in one run. */
@NullMarked
package io.weir.bench;

import org.jspecify.annotations.NullMarked;
