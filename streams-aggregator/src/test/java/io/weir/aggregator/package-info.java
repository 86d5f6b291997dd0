// SPDX-License-Identifier: Apache-2.0
@NullMarked
package io.weir.aggregator;

import org.jspecify.annotations.NullMarked;
