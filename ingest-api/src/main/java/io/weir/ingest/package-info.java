// SPDX-License-Identifier: Apache-2.0
/**
 * One ingest node: its settings, start and stop. This package may depend on all other packages of
 * the module.
 */
@NullMarked
package io.weir.ingest;

import org.jspecify.annotations.NullMarked;
