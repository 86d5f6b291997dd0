// SPDX-License-Identifier: Apache-2.0
/**
 * The process of the aggregator: configuration, start, health and stop. This package depends on its
 * subpackages.
 */
@NullMarked
package io.weir.aggregator;

import org.jspecify.annotations.NullMarked;
