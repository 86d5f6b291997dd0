// SPDX-License-Identifier: Apache-2.0
/**
 * Lists what is in the quarantine, and brings it to the count again; on the wire forms of the
 * topics and Kafka's clients, and on the reader of the verifier.
 */
@NullMarked
package io.weir.launcher.quarantine;

import org.jspecify.annotations.NullMarked;
