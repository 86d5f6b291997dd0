// SPDX-License-Identifier: Apache-2.0
/** One ingest node: its settings, start and stop. May depend on the module's other packages. */
@NullMarked
package io.weir.ingest;

import org.jspecify.annotations.NullMarked;
