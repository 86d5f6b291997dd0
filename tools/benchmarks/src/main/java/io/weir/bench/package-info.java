// SPDX-License-Identifier: Apache-2.0
/**
 * Benchmarks of Weir's parts. Each benchmark also measures another product, or a server that does
 * the minimum.
 */
@NullMarked
package io.weir.bench;

import org.jspecify.annotations.NullMarked;
