// SPDX-License-Identifier: Apache-2.0
/**
 * Callers that record the answers they receive, and the audit of these answers, for any {@link
 * io.weir.e2e.audit.Deployment}, known by HTTP and Kafka alone. Shares no code with Weir.
 */
@NullMarked
package io.weir.e2e.audit;

import org.jspecify.annotations.NullMarked;
