// SPDX-License-Identifier: Apache-2.0
/**
 * Reads the usage that CloudEvents report, by the operator's rules for their types. Depends on the
 * gate's model, the reader of YAML files, JSON trees and the CloudEvents API.
 */
@NullMarked
package io.weir.ingest.event;

import org.jspecify.annotations.NullMarked;
