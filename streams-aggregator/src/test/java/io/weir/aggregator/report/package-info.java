// SPDX-License-Identifier: Apache-2.0
@NullMarked
package io.weir.aggregator.report;

import org.jspecify.annotations.NullMarked;
