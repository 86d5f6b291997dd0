// SPDX-License-Identifier: Apache-2.0
/** The metrics of the libraries that every process uses. The package depends only on Micrometer. */
@NullMarked
package io.weir.topics.metrics;

import org.jspecify.annotations.NullMarked;
