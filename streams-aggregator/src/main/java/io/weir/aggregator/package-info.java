// SPDX-License-Identifier: Apache-2.0
/** The aggregator's process: configuration, start, health, stop; depends on the packages below. */
@NullMarked
package io.weir.aggregator;

import org.jspecify.annotations.NullMarked;
