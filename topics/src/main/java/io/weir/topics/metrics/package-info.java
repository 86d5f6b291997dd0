// SPDX-License-Identifier: Apache-2.0
/** The metrics of libraries. The package depends only on Micrometer. */
@NullMarked
package io.weir.topics.metrics;

import org.jspecify.annotations.NullMarked;
