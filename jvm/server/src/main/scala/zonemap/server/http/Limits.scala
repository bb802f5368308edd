// SPDX-License-Identifier: Apache-2.0
package zonemap.server.http

/**
 * The limits of a server.
 *
 * @param forwardedBodyBytes the longest body of a request that is forwarded
 * @param planBodyBytes the longest body of a request that the server answers itself
 * @param tableBytes the longest answer that loads a table
 * @param filterDepth the deepest filter, in nested objects of its JSON
 * @param filterLiterals the most literals of a filter
 * @param plans the most plans at a time; others wait
 * @param planWaitMillis the longest wait for one of these places
 * @param requestMillis the longest time of a plan, and of a request to the catalog behind the server
 * @param tokenMillis how long a plan-id and a plan-task are valid
 * @param pageTasks the number of tasks of one answer at which the server aims
 * @param pageBytes the size of one answer at which the server aims; it refuses a plan whose answers would be far larger
 * @param maxPages the most answers into which a plan is divided
 */
private[server] final case class Limits(
    forwardedBodyBytes: Int = 32 << 20,
    planBodyBytes: Int = 1 << 20,
    tableBytes: Int = 256 << 20,
    filterDepth: Int = 256,
    filterLiterals: Int = 10000,
    plans: Int = 8,
    planWaitMillis: Long = 5000,
    requestMillis: Long = 60000,
    tokenMillis: Long = 3600000,
    pageTasks: Int = 10000,
    pageBytes: Long = 32L << 20,
    maxPages: Int = 64)
