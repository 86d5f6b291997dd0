// SPDX-License-Identifier: Apache-2.0
/**
 * Converts CloudEvents to usage according to the operator's rules for event types. Depends on the
 * model of the package {@code gate}, the YAML reader of the package {@code policy}, Jackson's tree
 * model and the CloudEvents API.
 */
@NullMarked
package io.weir.ingest.event;

import org.jspecify.annotations.NullMarked;
