// SPDX-License-Identifier: Apache-2.0
/**
 * Callers that keep their own truth, and the audit of what they were told: for any {@link
 * io.weir.e2e.audit.Deployment}, known by HTTP and Kafka alone. Shares no code with Weir.
 */
@NullMarked
package io.weir.e2e.audit;

import org.jspecify.annotations.NullMarked;
