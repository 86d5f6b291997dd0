// SPDX-License-Identifier: Apache-2.0
/**
 * What CloudEvents say was used, by the rules that an operator has given for their types. Depends
 * on the gate's model, the reader of YAML files, JSON trees and the CloudEvents API.
 */
@NullMarked
package io.weir.ingest.event;

import org.jspecify.annotations.NullMarked;
