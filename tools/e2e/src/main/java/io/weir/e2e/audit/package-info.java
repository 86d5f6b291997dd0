// SPDX-License-Identifier: Apache-2.0
/**
 * Callers that record the responses, and the audit of these responses, for any {@link
 * io.weir.e2e.audit.Deployment}. The audit uses only HTTP and Kafka, and shares no code with Weir.
 */
@NullMarked
package io.weir.e2e.audit;

import org.jspecify.annotations.NullMarked;
