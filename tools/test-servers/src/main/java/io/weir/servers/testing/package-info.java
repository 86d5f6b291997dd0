// SPDX-License-Identifier: Apache-2.0
/**
 * Servers for tests, which run as local processes or as containers. The system property {@code
 * weir.test.servers} selects one of the two: {@code process} (default) or {@code containers}.
 */
@NullMarked
package io.weir.servers.testing;

import org.jspecify.annotations.NullMarked;
