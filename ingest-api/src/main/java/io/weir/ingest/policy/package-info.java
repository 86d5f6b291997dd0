// SPDX-License-Identifier: Apache-2.0
/**
 * Policies as operators write them: one YAML file, which is accepted or refused as a whole. Depends
 * on the model of the topics and a YAML library.
 */
@NullMarked
package io.weir.ingest.policy;

import org.jspecify.annotations.NullMarked;
