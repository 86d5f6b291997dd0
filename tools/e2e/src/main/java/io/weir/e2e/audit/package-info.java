// SPDX-License-Identifier: Apache-2.0
/**
 * Callers that record the responses of a {@link io.weir.e2e.audit.Deployment}, and an audit of
 * these responses. The audit uses only HTTP and Kafka, and shares no code with Weir.
 */
@NullMarked
package io.weir.e2e.audit;

import org.jspecify.annotations.NullMarked;
