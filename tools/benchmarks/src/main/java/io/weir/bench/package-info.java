// SPDX-License-Identifier: Apache-2.0
/** Benchmarks of Weir's parts. Each run also measures another product, or the minimum cost. */
@NullMarked
package io.weir.bench;

import org.jspecify.annotations.NullMarked;
